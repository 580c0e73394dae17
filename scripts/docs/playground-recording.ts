/** The story of the playground as a terminal shows it: for the picture of README, and for the test that compares it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { lookAround } from '../demo/look-around.ts';
import type { Stage } from '../demo/stage.ts';
import type { Recording } from './terminal.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const SIZE = { columns: 100, rows: 26 };
/** Between the end of one command and the next, as a person reads. */
const PAUSE_SECONDS = 1.5;

/** The story of the picture in README. */
const COMMANDS = [
  'kubectl apply -f deploy/samples/gpu-instance-trainer.yaml',
  'kubectl wait gpui/trainer --for=condition=Ready --timeout=2m',
  'kubectl get gpui',
  '# Somewhere a host fails, and the machine is gone:',
  'curl -s -d \'{"name":"destroyed-elsewhere"}\' $CONTROL/faults >/dev/null',
  'kubectl wait gpui/trainer --for=condition=Ready=False --timeout=1m',
  'kubectl wait gpui/trainer --for=condition=Ready --timeout=2m',
  'kubectl get gpui trainer -o custom-columns=LOST:.status.history[*].id,WHY:.status.history[*].reason,NOW:.status.machine.id',
  'gpu-rent cost',
  'kubectl delete gpui trainer',
  'gpu-rent orphans',
] as const;

interface Recorder {
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Types the commands on a stage that has an account, and keeps what the terminal showed. Rejects if one fails. */
export async function recordPlayground(stage: Stage, { say, signal }: Recorder): Promise<Recording> {
  const home = mkdtempSync(join(tmpdir(), 'record-'));
  const exports = [...lookAround(stage.cluster), `export CONTROL=${stage.controlUrl}`].join('\n');
  const events: { seconds: number; text: string }[] = [];
  let seconds = 0;
  try {
    for (const command of COMMANDS) {
      signal.throwIfAborted();
      say(`$ ${command}`);
      events.push({ seconds, text: command.startsWith('#') ? `${command}\n` : `$ ${command}\n` });
      const startedAt = performance.now();
      const { stdout } = await promisify(execFile)('bash', ['-c', `exec 2>&1\n${exports}\n${command}`], {
        cwd: REPOSITORY,
        env: { PATH: process.env['PATH'], HOME: home, NO_COLOR: '1' },
      });
      seconds += (performance.now() - startedAt) / 1000;
      if (stdout !== '') events.push({ seconds, text: stdout });
      seconds += PAUSE_SECONDS;
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
  return { ...SIZE, title: 'gpu-rental-operator: rent a machine, lose it, get another', events };
}
