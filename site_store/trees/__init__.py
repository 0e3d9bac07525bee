"""What people read of actions and sites: facts for status trees, plans, published views and the cards of sites.

What belongs here reads several nouns in one statement, of one moment. It writes nothing but published views. Tables of
nodes belong to `node_table`.
"""
