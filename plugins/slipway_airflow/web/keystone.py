"""Keystone's token route."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["keystone"])
