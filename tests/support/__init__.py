"""What several rooms' tests share: making designs, and running a real simulator process."""
