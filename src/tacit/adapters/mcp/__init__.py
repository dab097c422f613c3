"""The Model Context Protocol: questions with error bars for agents."""
