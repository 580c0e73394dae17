import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { applySample, setStage } from '../../scripts/demo/stage.ts';
import { recordPlayground } from '../../scripts/docs/playground-recording.ts';
import { terminalPicture } from '../../scripts/docs/terminal.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import type {} from '../cluster/provided-context.ts';
import { shapeOf } from './shown-output.ts';

const media = (name: string): string => readFileSync(join(REPOSITORY, 'docs/media', name), 'utf8');

/** Returns the output of a stored recording, line by line. */
function shown(cast: string): readonly string[] {
  const [, ...events] = cast.trim().split('\n');
  const texts = events.map((event) => (JSON.parse(event) as [number, string, string])[2]);
  return texts.join('').replaceAll('\r\n', '\n').trim().split('\n').map(shapeOf);
}

/** Lines of a picture of a terminal. */
const pictured = (svg: string): readonly string[] =>
  [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, line = '']) =>
    shapeOf(
      line
        .replaceAll(/<[^>]+>/g, '')
        .replaceAll('&gt;', '>')
        .replaceAll('&lt;', '<')
        .replaceAll('&amp;', '&'),
    ),
  );

test.skipIf(inject('cluster').source === 'existing-cluster')(
  'P9: the recording and the picture of README show what the programs print; npm run record renews them',
  async () => {
    const signal = new AbortController().signal;
    const stage = await setStage({ tell: () => {}, signal });
    try {
      await applySample(stage.cluster, 'account.yaml', { pollInterval: '1s' });
      const recording = await recordPlayground(stage, { say: () => {}, signal });
      const now = recording.events.flatMap(({ text }) => text.trim().split('\n').map(shapeOf));
      expect(shown(media('playground.cast'))).toEqual(now);
      expect(pictured(media('playground.svg'))).toEqual(pictured(terminalPicture(recording)));
    } finally {
      await stage.dismantle();
    }
  },
  240_000,
);
