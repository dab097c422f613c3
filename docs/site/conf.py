"""Sphinx's settings of the documentation site; `build.py` prepares the pages and calls it."""

from __future__ import annotations

import tacit

project = "tacit"
author = "The tacit maintainers"
copyright = "the tacit maintainers, Apache-2.0"  # noqa: A001
version = release = tacit.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
myst_links_external_new_tab = False
suppress_warnings = ["myst.header", "toc.not_included", "misc.highlighting_failure", "toc.empty"]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

smartquotes = False  # options of commands are not dashes

html_theme = "furo"
html_title = f"tacit {release}"
html_static_path = ["static"]
templates_path = ["templates"]
html_js_files = ["versions.js"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "versions.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
