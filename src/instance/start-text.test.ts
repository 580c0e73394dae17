import { describe, expect, test } from 'vitest';
import { startText } from './start-text.ts';

describe('a line in front of a script (C01)', () => {
  test.each([
    ['no script', undefined, '#!/bin/sh\nLINE\n'],
    ['a script without a first line of its own', 'date\n', 'LINE\ndate\n'],
    ['an empty script', '', 'LINE\n'],
    ['a script of sh', '#!/bin/sh\ndate\n', '#!/bin/sh\nLINE\ndate\n'],
    ['a script of bash with options', '#! /usr/bin/bash -eux\ndate', '#! /usr/bin/bash -eux\nLINE\ndate'],
    ['a script of dash by env', '#!/usr/bin/env dash\ndate', '#!/usr/bin/env dash\nLINE\ndate'],
    ['a script of ash with CR LF', '#!/bin/ash \r\ndate\r\n', '#!/bin/ash \r\nLINE\ndate\r\n'],
    ['a first line alone', '#!/bin/sh', '#!/bin/sh\nLINE\n'],
    ['a comment in a later line', 'date\n#!/bin/cat\n', 'LINE\ndate\n#!/bin/cat\n'],
  ])('is put after the first line of %s', (_, script, text) => {
    expect(startText('LINE', script)).toBe(text);
  });

  test.each([
    ['#!/usr/bin/env python3', '/usr/bin/env python3'],
    ['#! /usr/bin/perl -w \r', '/usr/bin/perl -w'],
    ['#!/bin/zsh', '/bin/zsh'],
    ['#!/bin/shx', '/bin/shx'],
    ['#!/bin/xsh', '/bin/xsh'],
    ['#!/bin/sh -v', '/bin/sh -v'],
    ['#!/bin/bash -er', '/bin/bash -er'],
    ['#!/bin/sh x', '/bin/sh x'],
    ['#!/bin/sh -e x', '/bin/sh -e x'],
    ['#!/bin/busybox sh', '/bin/busybox sh'],
  ])('leaves a script of %j in a file for that program', (first, program) => {
    const script = `${first}\nit's\n`;
    const quoted = `'${script.replace("'", `'\\''`)}'`;
    expect(startText('LINE', script)).toBe(
      `#!/bin/sh\nLINE\nf=$(mktemp)&&printf %s ${quoted}>"$f"&&${program} "$f"\n`,
    );
  });
});
