import { describe, expect, test } from 'vitest';
import { at, type Given, given, holding, identity, intent, UID } from '../../../test/builders/observed.ts';
import { type RunProgram, runText } from '../../instance/run-text.ts';
import type { Fuses } from '../../market/self-end.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import { runNonce } from '../../ownership/run-nonce.ts';
import type { DesiredFuse } from './fuse.ts';
import { rentalNonce, sentRun } from './sent-start.ts';

const selfEnd = vastFacts.selfEnd ?? expect.fail('no facts');
const { stop: _stop, ...WITHOUT_STOP } = selfEnd;
const SETTING = { url: 'https://market.example', nonce: 'k3', market: vastFacts };
const LIFE: DesiredFuse = { type: 'fuse', line: 'unused', fuses: { lifeSeconds: 600 } };
const NO_FUSE: DesiredFuse = { type: 'none', reason: 'NoFuse', detail: 'The market has none.' };

type Parts = Partial<Parameters<typeof sentRun>[1]>;
const sent = (spec: Parameters<typeof sentRun>[0], parts: Parts = {}) =>
  sentRun(spec, { ...SETTING, ...parts });
const packed = (program: RunProgram, fuses: Fuses = {}) => {
  const text = runText({ ...SETTING, facts: selfEnd, fuses, program }) ?? expect.fail('no text');
  const script = vastFacts.script.pack(text);
  return script.type === 'fits' ? script.script : expect.fail('too long');
};

describe('the start of a run', () => {
  const WORDS = { command: ['python', 'train.py'], args: ['--all'] };
  const SCRIPT: RunProgram = { type: 'script', text: 'make train\n' };

  test.each<[string, Parameters<typeof sentRun>[0], Parts, RunProgram, Fuses]>([
    ['command and args', WORDS, {}, { type: 'words', words: ['python', 'train.py', '--all'] }, {}],
    ['the command alone', { command: ['train'] }, {}, { type: 'words', words: ['train'] }, {}],
    ['the script without a command', {}, { script: SCRIPT.text }, SCRIPT, {}],
    ['an empty script without any program', {}, {}, { type: 'script', text: '' }, {}],
    ['the fuses beside the program', {}, { script: SCRIPT.text, fuse: LIFE }, SCRIPT, { lifeSeconds: 600 }],
    ['no fuse if the machine takes none', {}, { script: SCRIPT.text, fuse: NO_FUSE }, SCRIPT, {}],
  ])('runs %s', (_, spec, parts, program, fuses) => {
    expect(sent(spec, parts)).toMatchObject({ type: 'sent', onStart: packed(program, fuses) });
  });

  test.each([
    ['the fuses that the machine has', LIFE, { type: 'fuse', fuses: { lifeSeconds: 600 } }],
    ['why the machine has no fuse', NO_FUSE, NO_FUSE],
    ['nothing if no fuse was wanted', undefined, undefined],
  ])('reports %s', (_, fuse, reported) => {
    const start = sent(WORDS, { fuse });
    expect(start.type === 'sent' ? start.fuse : start).toEqual(reported);
  });

  test("is the first process, with its fuses, if the program replaces the image's entrypoint", () => {
    const program: RunProgram = { type: 'words', words: ['python', 'train.py', '--all'] };
    const fuses = { lifeSeconds: 600 };
    const text = runText({ ...SETTING, facts: selfEnd, fuses, program, isFirstProcess: true });
    expect(sent({ ...WORDS, entrypoint: 'Override' }, { fuse: LIFE })).toEqual({
      ...{ type: 'sent', onStart: 'sh', args: ['-c', text], fuse: { type: 'fuse', fuses } },
    });
  });

  test('is refused as the first process if it would have to be packed', () => {
    const start = sent({ command: ['echo', 'x'.repeat(2_000), 'y'.repeat(2_000)], entrypoint: 'Override' });
    expect(start).toEqual({
      type: 'refused',
      detail: expect.stringMatching(
        /^spec\.command: script and args have \d+ bytes together, at most 4096 fit/,
      ),
    });
  });

  test.each<[string, Parts, string]>([
    ['the fuse is impossible', { fuse: { type: 'impossible', detail: 'No lease here.' } }, 'No lease here.'],
    [
      'the marketplace has no https address',
      { url: 'http://market.example' },
      'spec.completion cannot work: a machine sends its key to an https address only.',
    ],
    [
      'machines of the market cannot stop themselves',
      { market: { ...vastFacts, selfEnd: WITHOUT_STOP } },
      `spec.completion cannot work: machines of ${vastFacts.name} cannot stop themselves.`,
    ],
    [
      'machines of the market can do nothing by themselves',
      { market: { name: 'Bare', script: vastFacts.script } },
      'spec.completion cannot work: machines of Bare cannot stop themselves.',
    ],
    [
      'the text is too long',
      {
        market: {
          ...vastFacts,
          script: {
            ...vastFacts.script,
            max: 4_000,
            pack: () => ({ type: 'tooLong', bytes: 9_000, packedLength: 5_000 }),
          },
        },
      },
      'The start script has 9000 bytes with the wrapper of the run, and still 5000 when packed; the marketplace takes 4000. Move parts of the script into the image.',
    ],
  ])('is refused if %s', (_, parts, detail) => {
    expect(sent(WORDS, parts)).toEqual({ type: 'refused', detail });
  });
});

describe('the nonce of the next rental', () => {
  test.each<[string, Given, number]>([
    ['is that of the first attempt before any purchase', {}, 1],
    ['follows the machine on record', { intent: intent({ attempt: 2 }), status: holding({ attempt: 2 }) }, 3],
    [
      'follows a purchase that came to nothing',
      {
        ...{ intent: intent({ attempt: 4 }), status: { attempt: 1 } },
        memory: { refused: { attempt: 4, issuedAt: at(-301) } },
      },
      5,
    ],
  ])('%s', (_, situation, attempt) => {
    expect(rentalNonce(given(situation))).toBe(runNonce(identity.keys, { uid: UID, attempt }));
  });
});
