"""Documents: reading them, rendering a design from them, what in it is secret, and what a deployment takes from it.

Here belong YAML with its lines, Deckhand's rules, kinds of documents, policies and validation.
What a strategy means once it is read is in `strategy_lib`; revisions and buffers are in `site_store`.
It is pure: texts come in, documents and problems go out.
"""
