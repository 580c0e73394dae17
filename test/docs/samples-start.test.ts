import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type GpuInstanceSpec, gpuInstanceSpec } from '../../src/api/v1alpha1/gpu-instance.ts';
import { launchOf, nothingStarts } from '../../src/instance/launch.ts';
import { programOf } from '../../src/simulator/instances/container-program.ts';
import { defaultSettings } from '../../src/simulator/settings.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'deploy', 'samples');

/** Returns the machine specs of a sample. */
function specsIn(file: string): readonly GpuInstanceSpec[] {
  const documents = parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((each) => each.toJS());
  return documents.flatMap(({ kind, spec }) => {
    if (kind === 'GpuInstance') return [gpuInstanceSpec.parse(spec)];
    return kind === 'EndpointGroup' ? [gpuInstanceSpec.parse(spec.template.spec)] : [];
  });
}

const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml') && specsIn(name).length > 0);

test.each(files)('B01: the sample %s starts a program, or asks for SSH', (file) => {
  for (const spec of specsIn(file)) expect(nothingStarts(spec)).toBeUndefined();
});

describe('a sample of a server runs as it is (B01)', () => {
  test.each([
    [
      'gpu-instance-vllm.yaml',
      ['python3', '-m', 'vllm.entrypoints.openai.api_server', '--model', 'Qwen/Qwen3-8B'],
    ],
    ['gpu-instance-tgi.yaml', ['/tgi-entrypoint.sh', '--model-id', 'Qwen/Qwen2.5-7B-Instruct']],
    ['gpu-instance-ollama.yaml', ['/bin/ollama', 'serve']],
  ])('when %s is applied', (file, words) => {
    const [spec] = specsIn(file);
    if (!spec) throw new Error(file);
    const { args = [], onStart } = launchOf(spec);
    const contract = { image: spec.image ?? '', runtype: 'args', onstart: null, args: [...args] };
    expect(onStart).toBeUndefined();
    const program = programOf(contract, defaultSettings);
    expect(program).toMatchObject({ type: 'words' });
    expect('words' in program && program.words.slice(0, words.length)).toEqual(words);
  });
});
