"""Parts that compare methods over kinds of data: what each promises, makes, and which is best."""
