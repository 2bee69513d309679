#!/usr/bin/env python3
"""terminal.py OUT.svg COMMAND…: runs a command in a terminal of 80 columns and draws what it prints, as SVG.

The picture has the command line first, then the output with its colours. Only colours and bold text are understood, which is
all that firstbyte prints. COMMAND is shown as it is given here; its first word may be a path, of which the name is shown."""
import html, os, pty, re, shlex, struct, subprocess, sys, termios, fcntl, unicodedata

COLUMNS = 80
WIDTH, HEIGHT, SIZE, MARGIN = 8.43, 18, 14, 14   # of a character, of a line, of the font, around everything
PAPER, INK = '#1b1f24', '#e7eaee'
COLOURS = {31: '#ff8a80', 32: '#8fd694', 33: '#f0c040', 34: '#82b4ee', 35: '#d7a6d0', 36: '#6fd3d3'}


def output(words):
    """What the command prints to a terminal. Progress goes to stderr and is left out."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, COLUMNS, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ('NO_COLOR', 'COLUMNS')}
    child = subprocess.Popen(words, stdout=theirs, stderr=subprocess.DEVNULL, env={**env, 'TERM': 'xterm-256color'})
    os.close(theirs)
    text = b''
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:   # the other end is closed
            break
        if not part:
            break
        text += part
    if child.wait() not in (0, 1, 3):
        sys.exit(f'{shlex.join(words)}: status {child.returncode}')
    return text.decode().replace('\r', '')


def spans(line, state):
    """(column, text, style) of each piece of a line; `state` is the style that goes on."""
    column = 0
    for piece in re.split(r'(\x1b\[[0-9;]*m)', line):
        if piece.startswith('\x1b'):
            for code in [int(code or 0) for code in piece[2:-1].split(';')]:
                if code == 0:
                    state.clear()
                elif code == 1:
                    state['bold'] = True
                elif code in COLOURS:
                    state['fill'] = COLOURS[code]
        elif piece:
            yield column, piece, dict(state)
            column += sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in piece)


def words_of(line, state):
    """The same without runs of spaces, which browsers draw as one."""
    for column, text, style in spans(line, state):
        for words in re.finditer(r'\S+(?: \S+)*', text):
            yield column + words.start(), words.group(), style


def drawn(lines):
    state, rows = {}, []
    for row, line in enumerate(lines):
        y = MARGIN + HEIGHT * row + SIZE
        for column, text, style in words_of(line, state):
            weight = ' font-weight="bold"' if style.get('bold') else ''
            rows.append(f'<text x="{MARGIN + column * WIDTH:.1f}" y="{y}" fill="{style.get("fill", INK)}"{weight} '
                        f'textLength="{len(text) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs">{html.escape(text)}</text>')
    width, height = round(2 * MARGIN + COLUMNS * WIDTH), 2 * MARGIN + HEIGHT * len(lines)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="{SIZE}">\n'
            f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>\n' + '\n'.join(rows) + '\n</svg>\n')


def main():
    out, *words = sys.argv[1:]
    shown = shlex.join([os.path.basename(words[0]), *words[1:]])
    lines = [f'\x1b[1m$ {shown}\x1b[0m', *output(words).rstrip('\n').split('\n')]
    with open(out, 'w') as file:
        file.write(drawn(lines))


main()
