import { sleep, systemClock } from '../../lib/clock.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import type { Command, CommandContext } from '../command.ts';
import { failed, timedOut } from '../failures/command-error.ts';
import { absent } from '../objects/cluster-objects.ts';
import type { Judged, Progress } from '../objects/kstatus.ts';
import { parseObject, shownName } from '../objects/object-name.ts';
import { type Goal, goalOf } from '../objects/wait-goal.ts';
import { parseTime, textOption } from '../options/option-values.ts';
import { ageText } from '../output/amounts.ts';
import { createOutput } from '../output/output.ts';
import { createProgress } from '../output/progress.ts';
import { withCluster } from '../sessions/cluster-session.ts';

const LOOK_EVERY_MS = 1_000;

/** Waits until an object is as wanted; exit code 4 when it is not in time. */
export const waitCommand: Command = {
  description:
    'ready follows the rules of Helm and Flux: the present generation, nothing reconciling, Ready. A stalled object ends the wait at once with exit code 1; exit code 4 means that the time is up.',
  examples: [
    'gpu-rent wait gpui/trainer --timeout 20m',
    'gpu-rent wait gpui/trainer --for delete',
    'gpu-rent wait epg/chat --for condition=MetricsAvailable',
    'gpu-rent wait gpui/trainer --for phase=Stopped',
  ],
  args: [{ name: '<object>', description: 'gpui/name, epg/name or gpuacct/name.' }],
  options: [
    {
      flags: '--for <what>',
      description: 'ready, delete, condition=Type[=Value] or phase=Phase. Default: ready.',
    },
    { flags: '--timeout <time>', description: 'Default: 10m.' },
  ],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const { resource, name } = parseObject(input.args[0] ?? '');
    const goal = goalOf(textOption(input.options, '--for') ?? 'ready', resource);
    const timeoutMs = parseTime(textOption(input.options, '--timeout') ?? '10m', '--timeout');
    const shown = shownName(resource, name);
    const progress = createProgress(context);
    const took = await withCluster(input, context, (cluster) => {
      const look = () =>
        cluster.kube.get<Judged & KubeObject>(resource, { namespace: cluster.namespace, name });
      const missing = () => absent(cluster, resource, name);
      return waitFor({ look, goal, shown, missing, timeoutMs, progress }, context);
    }).finally(() => progress.clear());
    await createOutput(input, context).changed([
      { kind: shown.split('/')[0] ?? '', name, did: `is ${goal.state} after ${ageText(took)}` },
    ]);
    return 0;
  },
};

interface Waiting {
  readonly look: () => Promise<Judged | undefined>;
  readonly goal: Goal;
  readonly shown: string;
  readonly missing: () => Promise<Error>;
  readonly timeoutMs: number;
  readonly progress: { say(text: string): void };
}

/** An API server that is away for a moment does not end a wait of twenty minutes. */
function unlessPassing(error: unknown): Progress {
  if (isKubeError(error, 'unavailable', 'throttled')) return { state: 'InProgress', message: error.message };
  throw error;
}

/** Resolves to how long it took in milliseconds. */
async function waitFor(
  { look, goal, shown, missing, timeoutMs, progress }: Waiting,
  { signal }: CommandContext,
): Promise<number> {
  const begun = systemClock.monotonic();
  for (let looks = 0; ; looks += 1) {
    const judged = await look()
      .then(goal.judge)
      .catch((error: unknown) => (looks === 0 ? Promise.reject(error) : unlessPassing(error)));
    const took = systemClock.monotonic() - begun;
    if (judged === 'reached') return took;
    if (judged === 'hopeless') throw await missing();
    const message = judged.state === 'Current' ? 'It is as its spec says.' : judged.message;
    if (judged.state === 'Failed')
      throw failed(`${shown} is stalled: ${message}`, `gpu-rent status ${shown} tells more.`);
    if (took + LOOK_EVERY_MS > timeoutMs) {
      throw timedOut(
        `${shown} was not ${goal.state} within ${ageText(timeoutMs)}: ${message}`,
        `gpu-rent explain ${shown} tells why.`,
      );
    }
    progress.say(`${shown}: ${message}`);
    await sleep(systemClock, LOOK_EVERY_MS, signal);
  }
}
