"""What happens in a run, in the protocols that pages, programs and editors speak; and their requests, read. All of it pure."""
