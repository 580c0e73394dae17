import { expect, test } from 'vitest';
import { asciicast, terminalPicture } from '../../scripts/docs/terminal.ts';

const recording = {
  columns: 20,
  rows: 2,
  title: 'a <title>',
  events: [
    { seconds: 0.5, text: 'first\n' },
    { seconds: 1.23456, text: '$ gpu-rent cost\n' },
    { seconds: 2, text: 'a line that is longer than the terminal & <all>\n' },
  ],
};

test('an asciicast has a header, and a line for each event with its second', () => {
  const [header = '', ...events] = asciicast(recording).trimEnd().split('\n');
  expect(JSON.parse(header)).toMatchObject({ version: 2, width: 20, height: 2, title: 'a <title>' });
  expect(events.map((event) => JSON.parse(event) as unknown)).toEqual([
    [0.5, 'o', 'first\r\n'],
    [1.235, 'o', '$ gpu-rent cost\r\n'],
    [2, 'o', 'a line that is longer than the terminal & <all>\r\n'],
  ]);
});

test('a picture shows the last lines, cut to the width, with its texts escaped', () => {
  const picture = terminalPicture(recording);
  expect(picture).toContain('aria-label="a &lt;title&gt;"');
  expect(picture.match(/<text [^>]*xml:space/g)).toHaveLength(2);
  expect(picture).not.toContain('first');
  expect(picture).toContain('> gpu-rent cost<');
  expect(picture).toContain('a line that is long…');
});
