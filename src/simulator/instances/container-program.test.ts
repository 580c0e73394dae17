import { describe, expect, test } from 'vitest';
import { defaultSettings, withSettings } from '../settings.ts';
import { describeProgram, programOf } from './container-program.ts';

type Given = Partial<Parameters<typeof programOf>[0]>;

const vllm = ['python3', '-m', 'vllm.entrypoints.openai.api_server'];

describe.each(['entrypoint', 'ignored'] as const)(
  'a container where args make onstart %s (B01)',
  (argsOnstart) => {
    const settings = withSettings(defaultSettings, { containers: { argsOnstart } });
    const program = (given: Given) =>
      programOf(
        { image: 'vllm/vllm-openai:v0.11.0', runtype: 'ssh', onstart: null, args: [], ...given },
        settings,
      );

    test.each<[string, Given, ReturnType<typeof programOf>]>([
      ['no program in an SSH mode', {}, { type: 'nothing' }],
      ['no program in an SSH mode, whatever args are', { args: ['x'] }, { type: 'nothing' }],
      ['the script in an SSH mode', { onstart: 'date' }, { type: 'script', text: 'date' }],
      [
        'the script in a Jupyter mode',
        { runtype: 'jupyter_proxy ssh_proxy', onstart: 'date' },
        { type: 'script', text: 'date' },
      ],
      [
        "the image's entrypoint with args in mode args",
        { runtype: 'args', args: ['--model', 'a b'] },
        { type: 'words', words: [...vllm, '--model', 'a b'] },
      ],
      [
        'the image as built in mode args without args',
        { runtype: 'args', image: 'docker.io/ollama/ollama:0.12' },
        { type: 'words', words: ['/bin/ollama', 'serve'] },
      ],
      [
        'a shell in mode args when the image is unknown',
        { runtype: 'args', image: `ubuntu@sha256:${'0'.repeat(64)}` },
        { type: 'words', words: ['bash'] },
      ],
    ])('runs %s', (_, given, expected) => {
      expect(program(given)).toEqual(expected);
    });

    test('alone decides whether a program in onstart replaces the entrypoint', () => {
      const words = argsOnstart === 'entrypoint' ? ['serve', '--x'] : [...vllm, '--x'];
      expect(program({ runtype: 'args', onstart: 'serve', args: ['--x'] })).toEqual({ type: 'words', words });
    });
  },
);

test.each([
  [{ type: 'words', words: ['a b'] }, 'running ["a b"]'],
  [{ type: 'script', text: 'date' }, 'running onstart (4 characters)'],
  [{ type: 'nothing' }, 'does not start in this mode'],
] as const)('the log describes %j', (program, line) => {
  expect(describeProgram(program, { onstartInLog: true })).toContain(line);
});
