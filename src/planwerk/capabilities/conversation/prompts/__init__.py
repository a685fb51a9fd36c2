"""The prompts of the conversation, one file per task and locale."""

from planwerk.locales.prompt_files import PromptFiles

PROMPTS = PromptFiles(__name__)
