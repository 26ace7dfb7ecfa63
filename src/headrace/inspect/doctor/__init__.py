"""The doctor: asks a live endpoint small questions and says what it does right, wrong, or does not support."""
