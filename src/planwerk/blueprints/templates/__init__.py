"""The ready profiles that blueprints come with (S2.1): what people read, apart from the workflow."""
