"""One file for each experiment that needs no LLM. Each measures one question and gives one report."""

__all__: list[str] = []
