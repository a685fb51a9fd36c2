"""Chat events and histories over pydantic-ai's messages: there is no second chat message class."""
