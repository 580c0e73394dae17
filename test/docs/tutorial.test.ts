import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { stepsOf } from './tutorial.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Copies newer files between folders, as `aws s3 sync` does with a bucket. */
const AWS = `#!/bin/bash
set -eu
from=\${3#s3://}; to=\${4#s3://}
[ "$3" = "$from" ] || from=$BUCKETS/$from
[ "$4" = "$to" ] || to=$BUCKETS/$to
mkdir -p "$from" "$to"
cp -r "$from/." "$to"
`;

/** Script that records its arguments and writes the next checkpoint; the first machine then loses its host. */
const TRAIN = `#!/bin/bash
set -eu
echo "$*" >> "$BUCKETS/runs"
last=\${3:-checkpoints/checkpoint-0}
next=$(( \${last##*-} + 500 ))
mkdir -p "checkpoints/checkpoint-$next"
echo weights > "checkpoints/checkpoint-$next/model"
[ -z "\${LOST:-}" ] || { sleep 1; exit 137; }
`;

/** Starts a machine with an empty disk that runs the tutorial's start script. */
async function runMachine(script: string, buckets: string, extra: Readonly<Record<string, string>> = {}) {
  const disk = mkdtempSync(join(tmpdir(), 'machine-'));
  folders.push(disk);
  const programs = join(disk, 'programs');
  mkdirSync(programs);
  for (const [name, text] of Object.entries({ aws: AWS, python: TRAIN })) {
    writeFileSync(join(programs, name), text);
    chmodSync(join(programs, name), 0o755);
  }
  const env = {
    ...{ PATH: `${programs}:${process.env.PATH}`, BUCKET: 's3://bucket/run', BUCKETS: buckets },
    ...{ UPLOAD_SECONDS: '0.1', ...extra },
  };
  const local = script.replaceAll('/workspace', join(disk, 'workspace'));
  return promisify(execFile)('bash', ['-c', local], { env }).then(
    () => 0,
    (error: { code: number }) => error.code,
  );
}

test('the start script of the fine-tuning tutorial goes on at the newest checkpoint of a lost machine', async () => {
  const start = stepsOf('docs/tutorials/fine-tuning.md').find(
    (step) => step.type === 'save' && step.file === 'start.sh',
  );
  const script = start?.type === 'save' ? start.text : 'false';
  const buckets = mkdtempSync(join(tmpdir(), 'buckets-'));
  folders.push(buckets);
  expect(await runMachine(script, buckets, { LOST: 'yes' })).toBe(137);
  expect(await runMachine(script, buckets)).toBe(0);
  const runs = readFileSync(join(buckets, 'runs'), 'utf8').trim().split('\n');
  expect(runs).toEqual(['train.py', 'train.py --resume_from_checkpoint checkpoints/checkpoint-500']);
  expect(existsSync(join(buckets, 'bucket/run/checkpoints/checkpoint-1000/model'))).toBe(true);
});
