"""Designs with layers and substitutions, made in a test's own words, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from design_rendering.policies import NO_POLICIES
from design_rendering.reading.documents import Document, RenderingError, load_documents
from design_rendering.rendering import Rendering, render
from design_rendering.validation import validate_files
from strategy_lib.errors import Problem

KIND = "example/Kind/v1"


def layered(
    name: str, layer: str, data: Any, *, schema: str = KIND, abstract: bool = False, **metadata: Any
) -> dict[str, Any]:
    """Return a document in a layer; `parent` (labels) and `actions` go into its layering definition."""
    layering: dict[str, Any] = {"abstract": abstract, "layer": layer}
    for key, name_there in (("parent", "parentSelector"), ("actions", "actions")):
        if key in metadata:
            layering[name_there] = metadata.pop(key)
    head = {
        "schema": "metadata/Document/v1",
        "name": name,
        "storagePolicy": "cleartext",
        "layeringDefinition": layering,
    }
    return {"schema": schema, "metadata": {**head, **metadata}, "data": data}


def action(method: str, path: str) -> dict[str, str]:
    """Return a layering action."""
    return {"method": method, "path": path}


def child(name: str, data: Any, *actions: dict[str, str], layer: str = "site", **metadata: Any) -> dict[str, Any]:
    """Return a document with the parent that has the label `is: parent`; it merges everything unless told otherwise."""
    chosen = list(actions) or [action("merge", ".")]
    return layered(name, layer, data, **{"parent": {"is": "parent"}, "actions": chosen, **metadata})


def parent(data: Any, *, layer: str = "global", name: str = "parent", **metadata: Any) -> dict[str, Any]:
    """Return an abstract document with the label `is: parent`."""
    return layered(name, layer, data, **{"labels": {"is": "parent"}, "abstract": True, **metadata})


def substitution(source: str, path: str, dest: Any, schema: str = KIND, **src: Any) -> dict[str, Any]:
    """Return a substitution; a text as `dest` is its path."""
    src = {"schema": schema, "name": source, "path": path, **src}
    return {"src": src, "dest": {"path": dest} if isinstance(dest, str) else dest}


def policy(*layers: str) -> dict[str, Any]:
    """Return a layering policy."""
    metadata = {"schema": "metadata/Control/v1", "name": "layering-policy"}
    return {"schema": "deckhand/LayeringPolicy/v1", "metadata": metadata, "data": {"layerOrder": list(layers)}}


def documents(*design: dict[str, Any]) -> list[Document]:
    """Return documents as they are read from a file `site.yaml`."""
    text = yaml.dump_all(design, Dumper=yaml.CSafeDumper, sort_keys=False, explicit_start=True)
    return load_documents(text, "site.yaml")


def validate(read: Sequence[Document], *, draft: bool = False) -> list[Problem]:
    """Return what is wrong with documents, without any policy."""
    return list(validate_files(read, NO_POLICIES, draft=draft).problems)


def rendering(*design: dict[str, Any]) -> Rendering:
    """Return the rendering of a design."""
    return render(documents(*design))


def data(*design: dict[str, Any]) -> dict[str, Any]:
    """Return the rendered data of each document that counts, by name."""
    return {one.document.name: one.document.data for one in rendering(*design).documents}


def problems(*design: dict[str, Any]) -> tuple[Problem, ...]:
    """Return what keeps a design from being rendered."""
    with pytest.raises(RenderingError) as caught:
        rendering(*design)
    assert all(problem.level == "error" and problem.source == "site.yaml" for problem in caught.value.problems)
    assert all(problem.line for problem in caught.value.problems)
    return caught.value.problems


def only_problem(*design: dict[str, Any]) -> str:
    """Return the one problem there is, as `path: message`."""
    found = problems(*design)
    assert len(found) == 1, found
    return f"{found[0].path}: {found[0].message}"
