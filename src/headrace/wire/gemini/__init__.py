"""The protocol `gemini`: Google's generateContent and streamGenerateContent."""
