"""The sections of the page, in their order. Each makes its part of a run, or nothing where no receipt tells of it."""

from sections import catalog, days, refused, sets, shuffle, steps, streams

SECTIONS = (
    streams.section,
    sets.section,
    shuffle.section,
    days.section,
    catalog.section,
    steps.section,
    refused.section,
)
