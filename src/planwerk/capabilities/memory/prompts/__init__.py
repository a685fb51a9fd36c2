"""The prompt of the memory writer, one file per locale."""

from planwerk.locales.prompt_files import PromptFiles

PROMPTS = PromptFiles(__name__)
