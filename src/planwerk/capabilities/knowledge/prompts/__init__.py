"""How a model is told to use and cite passages, one file per locale."""

from planwerk.locales.prompt_files import PromptFiles

PROMPTS = PromptFiles(__name__)
