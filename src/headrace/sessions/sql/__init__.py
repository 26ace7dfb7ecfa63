"""What the SQL databases share: the tables, the statements, and each method of a store as one operation over them."""
