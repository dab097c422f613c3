"""Run the command line as a module."""

from tacit.cli import main

raise SystemExit(main())
