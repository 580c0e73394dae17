import { writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { printableLine } from '../../views/printable.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { CommandError, usageError } from '../command-error.ts';
import { describeFailure } from '../failures/describe-failure.ts';
import { programLog } from '../job/program-log.ts';
import { RunRefused, relay } from '../job/relay.ts';
import type { RunManifest } from '../job/run-manifest.ts';
import { JOB_EXIT } from '../job/run-result.ts';
import {
  LOG_ADDRESS_OPTIONS,
  type LogAddress,
  logAddress,
  type OpenLogs,
  openLogs,
} from '../logs/log-address.ts';
import { logCredentials } from '../logs/log-token.ts';
import { logFollower, noLog } from '../logs/run-log.ts';
import { listOption, textOption } from '../option-values.ts';
import { MACHINE_OPTIONS, machineFields, machineParts } from '../options/machine-options.ts';
import { PROGRAM_OPTIONS, programFields, programParts } from '../options/program-options.ts';
import { FILE_OPTION, plannedIn } from '../plan/manifests.ts';
import { allOf, refuseOptions } from '../run-faults.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

const TERMINATION_LOG = '/dev/termination-log';

/** Runs a program on a rented machine for the Pod in which it runs. */
export const jobCommand: Command = {
  description:
    'The program of a container in a Job, or of any other Pod that ends: it creates a GpuInstance with spec.completion for its Pod, or attaches to the one of an earlier Pod, prints the log of the machine to stdout and its states to stderr, and exits with the code of the program. SIGTERM cancels the run if the Job is deleted, suspended or finished; after an eviction (exit code 75) the machine keeps running and the next Pod attaches. Exit codes: 1 to 125 of the program (75 and codes above 125 become 125), 126 refused, 143 cancelled, 1 without a code.',
  examples: [
    "gpu-rent job --gpu 'RTX 4090' --max-price 0.60 --max-cost 5 --image pytorch/pytorch:2.9.1 -- python train.py",
    'gpu-rent job -f /etc/run/gpu-instance.yaml',
  ],
  args: [{ name: '[command...]', description: 'Behind --: the program on the machine.', behindDashes: true }],
  options: [
    ...MACHINE_OPTIONS,
    ...PROGRAM_OPTIONS,
    {
      ...FILE_OPTION,
      description: 'File with a GpuInstance that replaces these options; its name is ignored.',
    },
    ...LOG_ADDRESS_OPTIONS,
    {
      flags: '--termination-log <file>',
      description: `File for the last line, if it exists. Default: ${TERMINATION_LOG}.`,
    },
  ],
  optionSets: ['cluster'],
  async run(input, context) {
    const print = (line: string): void => {
      context.stderr.write(`${printableLine(line)}\n`);
    };
    try {
      const manifest = await manifestOf(input, context);
      // The relay decides itself what ends with SIGTERM.
      const calm = { ...context, signal: new AbortController().signal };
      const end = await withCluster(input, calm, async (cluster) => {
        const { kube, namespace } = cluster;
        const { signal, env } = context;
        const write = (text: string) => context.stdout.write(text);
        const log = await logOf(logAddress(input.options, env), cluster, print);
        const clock = systemClock;
        try {
          return await relay(
            { pod: { name: env.POD_NAME || hostname(), uid: env.POD_UID || undefined }, manifest },
            {
              ...{ kube, clock, random: systemRandom, namespace, signal, print },
              followLog: log
                ? programLog(write, (receiver) =>
                    logFollower({ open: log.open, clock, namespace, print, ...receiver }),
                  )
                : noLog,
            },
          );
        } finally {
          await log?.close();
        }
      });
      await finish(end.line, input, context);
      return end.exitCode;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      for (const line of describeFailure(error).lines) print(line);
      const reason = error instanceof RunRefused ? error.reason : 'Invalid';
      const line = JSON.stringify({ exitCode: null, machines: 0, reason, message: error.message });
      await finish(line, input, context);
      return JOB_EXIT.refused;
    }
  },
};

/** Opens the log. Resolves to undefined, after a line about the reason, if there is none: the run matters more. */
async function logOf(
  address: LogAddress | undefined,
  cluster: ClusterSession,
  print: (line: string) => void,
): Promise<OpenLogs | undefined> {
  if (address === undefined) {
    print('No log: --log-url and GPU_RENTAL_LOG_URL are not set.');
    return undefined;
  }
  try {
    return await openLogs(address, await logCredentials({}, cluster));
  } catch (error) {
    print(`No log: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** Returns true for a failure that a repetition does not cure. */
function isRefusal(error: unknown): error is Error {
  return (
    error instanceof RunRefused ||
    error instanceof CommandError ||
    isKubeError(error, 'forbidden', 'unauthorized', 'invalid')
  );
}

/** Prints the last line, also to the termination log, which the kubelet has created. */
async function finish(line: string, { options }: CommandInput, context: CommandContext): Promise<void> {
  context.stderr.write(`${line}\n`);
  const file = textOption(options, '--termination-log') ?? TERMINATION_LOG;
  await writeFile(file, line, { flag: 'r+' }).catch(() => {});
}

async function manifestOf(input: CommandInput, context: CommandContext): Promise<RunManifest> {
  const manifest =
    listOption(input.options, '--filename').length > 0
      ? await manifestInFile(input, context)
      : manifestOfOptions(input);
  await refuseOptions({ metadata: {}, spec: { completion: {}, ...manifest.spec } });
  return manifest;
}

/** Fields of {@link PROGRAM_OPTIONS}. */
const PROGRAM_FIELDS: Readonly<Record<string, string>> = {
  '--max-lifetime': 'spec.maxLifetime',
  '--backoff-limit': 'spec.completion.backoffLimit',
  '--lost-limit': 'spec.completion.lostLimit',
};

async function manifestInFile(input: CommandInput, context: CommandContext): Promise<RunManifest> {
  const flags = [...MACHINE_OPTIONS, ...PROGRAM_OPTIONS].map((option) => option.flags.split(' ')[0] ?? '');
  const [beside] = flags.filter((flag) => listOption(input.options, flag).length > 0);
  if (beside !== undefined || input.args.length > 0)
    throw usageError(
      `-f and ${beside ?? 'a command behind --'} exclude each other.`,
      `Write ${PROGRAM_FIELDS[beside ?? ''] ?? 'everything'} into the file.`,
    );
  const planned = await plannedIn(input, context);
  const [only] = planned;
  if (only === undefined || planned.length > 1 || only.manifest.kind !== 'GpuInstance')
    throw usageError('-f: the file must contain one GpuInstance, and nothing else.');
  const { metadata, spec } = only.manifest;
  return { metadata, spec: spec as RunManifest['spec'] };
}

function manifestOfOptions({ options, args }: CommandInput): RunManifest {
  const parts = allOf({ ...machineParts(options), ...programParts(options) });
  const { account, machine } = machineFields(options, parts);
  if (args.length === 0) throw usageError('A run needs a program.', 'Write it behind --: -- python train.py');
  const { completion, command, ...limits } = programFields(options, args, parts);
  return { spec: { ...account, completion, command, ...machine, ...limits } };
}
