import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { spec } from '../../test/builders/observed.ts';
import type { GpuInstanceManifestSpec } from '../api/v1alpha1/gpu-instance.ts';
import { markTrimmed } from '../api/v1alpha1/trimmed-spec.ts';
import { launchOf, nothingStarts } from './launch.ts';

const secretKeyRef = { name: 'scripts', key: 'start' };
const WORDS = ['serve', '--name', "it's a model", '', '$HOME'];
const QUOTED = `'serve' --name 'it'\\''s a model' '' '$HOME'`;

describe('the launch of a container (B01)', () => {
  test.each<[string, GpuInstanceManifestSpec, ReturnType<typeof launchOf>]>([
    ['nothing is given', {}, { ssh: false, args: undefined, onStart: undefined }],
    ['ssh is true', { ssh: true }, { ssh: true, args: undefined, onStart: undefined }],
    [
      'a script is given',
      { onStart: 'date' },
      { ssh: false, args: undefined, onStart: { type: 'script', text: 'date' } },
    ],
    [
      'a script comes from a Secret, with ssh',
      { onStartFrom: { secretKeyRef }, ssh: true },
      { ssh: true, args: undefined, onStart: { type: 'secret', secretKeyRef } },
    ],
    [
      'args are given',
      { args: ['--model', 'a b'] },
      { ssh: false, args: ['--model', 'a b'], onStart: undefined },
    ],
    ['args are empty', { args: [] }, { ssh: false, args: [], onStart: undefined }],
    [
      'a command is given',
      { command: WORDS },
      { ssh: false, args: undefined, onStart: { type: 'script', text: QUOTED } },
    ],
    [
      'a command and args are given, with ssh',
      { command: WORDS.slice(0, 2), args: WORDS.slice(2), ssh: true },
      { ssh: true, args: undefined, onStart: { type: 'script', text: QUOTED } },
    ],
    [
      'a command replaces the entrypoint',
      { command: WORDS.slice(0, 2), args: WORDS.slice(2), entrypoint: 'Override' },
      { ssh: false, args: WORDS.slice(1), onStart: { type: 'program', text: 'serve' } },
    ],
    [
      'the command of a run replaces the entrypoint',
      { command: WORDS, entrypoint: 'Override', completion: {} },
      { ssh: false, args: undefined, onStart: { type: 'script', text: QUOTED } },
    ],
  ])('is decided by the spec when %s', (_, manifest, launch) => {
    expect(launchOf(spec(manifest))).toEqual(launch);
  });

  test.each(['FOO=bar', 'if', 'a b', "it's"])('runs %j as a program when it is the first word', (program) => {
    const { onStart } = launchOf(spec({ command: [program, 'x'] }));
    if (onStart?.type !== 'script') throw new Error('no script');
    const shell = `command_not_found() { :; }\n${onStart.text} 2>&1 || echo "status $?"`;
    expect(execFileSync('sh', ['-c', shell], { encoding: 'utf8' })).toContain('status 127');
  });
});

describe('the note that nothing starts (B01)', () => {
  test.each<[string, GpuInstanceManifestSpec]>([
    ['a script', { onStart: 'date' }],
    ['a script of a Secret', { onStartFrom: { secretKeyRef } }],
    ['args', { args: [] }],
    ['a command', { command: ['date'] }],
    ['SSH', { ssh: true }],
    ['a machine to adopt', { adopt: { instanceId: '7' } }],
  ])('is left out when the spec has %s', (_, manifest) => {
    expect(nothingStarts(spec(manifest))).toBeUndefined();
  });

  test('is left out when the copy of the spec is trimmed', () => {
    expect(nothingStarts(markTrimmed(spec(), { hash: 'v2:x' }))).toBeUndefined();
  });

  test('says what to write when the image is unknown', () => {
    expect(nothingStarts(spec({ image: 'example/vllm/vllm-openai:1' }))).toBe(
      "In SSH mode the image's own program does not run. Write args: [] to run the image as built, or onStart.",
    );
  });

  test.each([
    ['vllm/vllm-openai:v0.11.0', 'vllm/vllm-openai', '[--model, MODEL]'],
    ['docker.io/vllm/vllm-openai', 'vllm/vllm-openai', '[--model, MODEL]'],
    [
      'ghcr.io/huggingface/text-generation-inference:3.3',
      'ghcr.io/huggingface/text-generation-inference',
      '[--model-id, MODEL]',
    ],
    [`ollama/ollama@sha256:${'0'.repeat(64)}`, 'ollama/ollama', '[]'],
    ['lmsysorg/sglang:latest', 'lmsysorg/sglang', '[python3, -m, sglang.launch_server, --model-path, MODEL]'],
    ['nvcr.io/nim/meta/llama3-8b-instruct:1.0', 'nvcr.io/nim/meta/llama3-8b-instruct', '[]'],
  ])('names the server when the image is %s', (image, name, args) => {
    expect(nothingStarts(spec({ image }))).toBe(
      `In SSH mode the server of ${name} does not run. Write args: ${args} to run the image as built, or onStart.`,
    );
  });
});
