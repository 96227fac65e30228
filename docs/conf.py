"""How Sphinx builds the documentation: ``python docs/make_site.py``.

The source folder is the repository, so that links between README.md, docs/, bench/ and examples/ are the
same on the site as in the repository. Nothing is fetched from a network.
"""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from site_parts import fragments  # noqa: E402

import hopbytes  # noqa: E402

project = "hopbytes"
author = "hopbytes developers"
copyright = "hopbytes developers, MIT licence"
version = release = hopbytes.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
root_doc = "docs/index"
include_patterns = [
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
    "docs/*.md", "docs/learn/*", "docs/do/*", "docs/lookup/*", "docs/understand/*",
    "bench/*.md", "bench/laboratory/README.md", "examples/*.md", "examples/*.ipynb", "core/README.md",
]  # fmt: skip
exclude_patterns = ["docs/_made", "build", ".*", "**/__pycache__"]
needs_sphinx = "8"

# Pages: Markdown with the headings of other pages as targets; code cells of notebooks run in the build.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
# Code without a language is a command and what it prints, which no lexer knows.
highlight_language = "none"

# Docstrings are numpydoc. Members are listed by the pages themselves.
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"

smartquotes = False  # they would turn -- of options into a dash

html_theme = "furo"
html_title = f"hopbytes {hopbytes.__version__}"
html_static_path = ["site_parts/static"]
html_css_files = ["site.css"]
html_search_scorer = str(DOCS / "site_parts/static/scorer.js")
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"


#: Pages for developers, which the search leaves out: they name everything that users look for.
NOT_SEARCHED = ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY", "core/README", "bench/")


def setup(app):
    """Write what is generated before Sphinx looks for pages, and an entry page after the build."""
    app.connect("builder-inited", lambda app: fragments.write_all(DOCS / "_made"))
    app.connect("html-page-context", give_levels, priority=900)
    app.connect("doctree-read", leave_out_of_search, priority=900)
    app.connect("build-finished", entry)


def leave_out_of_search(app, doctree):
    """Mark pages for developers as Sphinx marks those with ``nosearch`` among their facts."""
    if app.env.docname.startswith(NOT_SEARCHED):
        app.env.metadata[app.env.docname]["nosearch"] = "true"


def give_levels(app, pagename, templatename, context, doctree):
    """Say the level of the headings in the navigation, which screen readers need and the theme leaves out."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


def entry(app, error):
    """Lead from the folder of the site to its first page."""
    if error is None and app.builder.format == "html":
        refresh = '<meta http-equiv="refresh" content="0; url=docs/index.html">'
        page = f'<!doctype html><title>hopbytes</title>{refresh}\n<a href="docs/index.html">hopbytes</a>\n'
        (Path(app.outdir) / "index.html").write_text(page)
