"""What is sent to the model: how long it is, how it is made shorter, and what is put in on the way. Pure but for the stores of results."""
