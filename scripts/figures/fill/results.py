"""The results of one machine, and how figures are written."""
import json, os, re, textwrap


class Results:
    """A folder of results. A file that is not there raises FileNotFoundError."""

    def __init__(self, folder):
        self.folder = folder
        self.missed = []  # targets

    def has(self, name):
        return os.path.exists(f'{self.folder}/{name}')

    def json(self, name):
        with open(f'{self.folder}/{name}.json', encoding='utf-8') as file:
            return json.load(file)

    def lines(self, name):
        with open(f'{self.folder}/{name}.txt', encoding='utf-8') as file:
            return file.read().rstrip('\n').split('\n')


def ns(value):
    """A time with three digits and its unit."""
    if value is None:
        return '-'
    for unit, size in (('s', 1e9), ('ms', 1e6), ('µs', 1e3)):
        if abs(value) >= size:
            figure = value / size
            return f'{figure:.3g} {unit}' if abs(figure) < 999.5 else f'{figure:.0f} {unit}'
    return f'{value:.0f} ns'


def row(cells):
    return '| ' + ' | '.join(cells) + ' |'


def table(head, aligned, rows):
    """`aligned` is a string such as `:---|---:`, one part for each column."""
    return '\n'.join([row(head).replace('|  |', '| |'), f'|{aligned}|', *map(row, rows)])


def code(lines):
    return '\n'.join(['```text', *lines, '```'])


def paragraphs(parts):
    """Prose, tables and blocks of code, with an empty line between them."""
    return '\n\n'.join(wrapped(part) for part in parts if part)


def wrapped(text):
    """Prose in lines of 100 columns, not broken between a number and its unit or within code and links. Tables and code stay."""
    if len(text) <= 100 or text.startswith(('|', '```')):
        return text
    text = re.sub(r'`[^`]+`|\[[^\]]{1,60}\]\([^)]*\)', lambda m: m[0].replace(' ', '\0'), text)
    text = re.sub(r'(\d) (?=(?:µs|ns|ms|s|[KMG]i?B|%|×|bytes?)(?:\W|$))', r'\1' + '\0', text)
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False).replace('\0', ' ')
