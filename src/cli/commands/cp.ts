import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type Copy,
  type CopySide,
  copySide,
  directionOf,
  isNameForRsync,
  type KnownPath,
  type PathKind,
  planCopy,
  probeWords,
  readProbe,
  rsyncArguments,
  rsyncEnd,
  scpArguments,
} from '../../reach/copy.ts';
import { execArguments, type Login } from '../../reach/ssh-arguments.ts';
import type { SshTarget } from '../../reach/ssh-target.ts';
import { printableLine } from '../../views/printable.ts';
import type { Command } from '../command.ts';
import { EXIT, failed, Interrupted } from '../command-error.ts';
import { runProgram, SSH_FAILED } from '../machine/programs.ts';
import { type Asked, changeSince, loginTo, reachMachine, SSH_OPTIONS } from '../machine/reach.ts';
import { createOutput, createProgress } from '../output/output.ts';

/** Copies files and folders to and from a machine. */
export const cpCommand: Command = {
  description:
    'With rsync if both ends have it, else with scp. A folder is copied with everything in it. An existing folder as target gets the source under its own name, as cp -r does. With rsync the same command resumes an interrupted copy and copies only differences; with scp it starts over. Links that lead out of a copied folder are left out when they come from a machine.',
  examples: [
    'gpu-rent cp train.py gpui/trainer:/workspace/',
    'gpu-rent cp gpui/trainer:/workspace/checkpoints .',
    'gpu-rent cp ./data trainer:data -i ~/.ssh/gpu',
    'gpu-rent cp 4711:/root/out.tar ./out.tar',
  ],
  args: [
    { name: '<from>', description: 'A path here, or name:path on the machine of gpui/name.' },
    { name: '<to>', description: 'Target, in the same form; one of the two is on a machine.' },
  ],
  options: SSH_OPTIONS,
  optionSets: ['report', 'cluster', 'marketplace'],
  async run(input, context) {
    const [from = '', to = ''] = input.args;
    const sides = { from: copySide(from), to: copySide(to) };
    const { direction, target } = directionOf(sides.from, sides.to);
    const asked = { input, context };
    const machine = await reachMachine(target, asked);
    const login = await loginTo(machine, asked);
    const probe = await probed(sides[direction === 'download' ? 'from' : 'to'].path, {
      machine,
      login,
      asked,
    });
    const known = async (side: CopySide, shown: string): Promise<KnownPath> => ({
      path: side.path,
      shown: printableLine(shown),
      kind: side.type === 'remote' ? probe.kind : await localKind(side.path),
    });
    const plan = planCopy(await known(sides.from, from), await known(sides.to, to));
    const copy = { ...plan, direction, machine, login, showsProgress: context.stderr.isTTY === true };
    const hasRsync = probe.hasRsync && isNameForRsync(plan.from) && (await hasOwnRsync(asked));
    const by = hasRsync ? 'rsync' : 'scp';
    await (by === 'rsync' ? copyByRsync(copy, asked) : copyByScp(copy, asked));
    const place = (path: string, isThere: boolean) => (isThere ? `${machine.shown}:${path}` : path);
    const copied = {
      from: place(plan.from, direction === 'download'),
      to: place(plan.to, direction === 'upload'),
      by,
    };
    await createOutput(input, context).value(copied, printableLine(`${copied.from} copied to ${copied.to}`));
    return EXIT.ok;
  },
};

interface Probing {
  readonly machine: SshTarget;
  readonly login: Login;
  readonly asked: Asked;
}

/** Resolves to the type of the path on the machine, by one connection. */
async function probed(path: string, { machine, login, asked }: Probing) {
  let output = '';
  const args = execArguments(machine, login, { words: probeWords(path), stdin: false, tty: false });
  const code = await runProgram('ssh', args, asked.context, {
    onOutput: (text) => {
      output += text;
    },
  });
  const probe = readProbe(output);
  if (probe) return probe;
  if (code === SSH_FAILED)
    throw (
      (await changeSince(machine, asked)) ??
      failed(
        `${machine.shown} cannot be reached by SSH at ${machine.host}:${machine.port}; nothing was copied.`,
        'The lines above say why. Name the key with --identity, the login with --user.',
      )
    );
  throw failed(
    `${machine.shown} has no shell that could be asked (exit code ${code}); nothing was copied.`,
    `Look for yourself: gpu-rent ssh ${machine.shown}`,
  );
}

async function localKind(path: string): Promise<PathKind> {
  const found = await stat(path).catch(() => undefined);
  if (found) return found.isDirectory() ? 'folder' : 'file';
  const above = await stat(dirname(path)).catch(() => undefined);
  return above?.isDirectory() ? 'none' : 'nowhere';
}

/** Returns true if the local rsync is new enough: before 3.1, and in the variant of macOS, it lacks some options. */
async function hasOwnRsync({ context }: Asked): Promise<boolean> {
  let output = '';
  const onOutput = (text: string) => {
    output += text;
  };
  const code = await runProgram('rsync', ['--version'], context, { onOutput }).catch(() => undefined);
  context.signal.throwIfAborted();
  const [, major = '0', minor = '0'] = /^rsync +version (\d+)\.(\d+)/m.exec(output) ?? [];
  return code === 0 && (Number(major) > 3 || (Number(major) === 3 && Number(minor) >= 1));
}

const REPEAT = 'Repeat the same command: it resumes the copy.';

async function copyByRsync(copy: Copy, asked: Asked): Promise<void> {
  const progress = createProgress(asked.context);
  const onOutput = (text: string) => {
    const line = text.split(/[\r\n]/).findLast((part) => part.trim() !== '');
    if (line !== undefined) progress.show(`${copy.machine.shown}: ${line.trim().replace(/ \(.*$/, '')}`);
  };
  const code = await runProgram('rsync', rsyncArguments(copy), asked.context, { onOutput })
    .catch((error: unknown) => {
      throw error instanceof Interrupted ? failed('The copy is not complete.', REPEAT, error) : error;
    })
    .finally(() => progress.clear());
  switch (rsyncEnd(code)) {
    case 'done':
      return;
    case 'incomplete':
      throw failed('Not everything was copied: the lines above name what is missing, and why.');
    case 'cut':
      throw (
        (await changeSince(copy.machine, asked)) ??
        failed(`The connection to ${copy.machine.shown} was cut; the copy is not complete.`, REPEAT)
      );
    case 'failed':
      throw failed(`rsync ended with ${code}; the copy is not complete.`, 'The lines above say why.');
  }
}

async function copyByScp(copy: Copy, asked: Asked): Promise<void> {
  const { machine, to } = copy;
  const incomplete = `The copy is not complete, and ${printableLine(to)} must not be used as it is.`;
  const remedy = `Repeat the command: it starts over. With rsync on both ends it would resume (gpu-rent exec ${machine.shown} -- apt-get install -y rsync).`;
  const code = await runProgram('scp', scpArguments(copy), asked.context).catch((error: unknown) => {
    throw error instanceof Interrupted ? failed(incomplete, remedy, error) : error;
  });
  if (code === 0) return;
  throw (await changeSince(machine, asked)) ?? failed(incomplete, `The lines above say why. ${remedy}`);
}
