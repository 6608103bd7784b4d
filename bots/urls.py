"""Addresses of bots pages."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
