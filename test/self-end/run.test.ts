import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLIENTS, Container, programPath, SHELLS, type ShellName } from './container.ts';
import { type OwnKeyService, ownKeyService } from './own-key-service.ts';
import { type MachineOptions, RunMachine } from './run-machine.ts';

const shelf = new Container();
let service: OwnKeyService;

beforeAll(async () => {
  service = await ownKeyService(shelf.folder);
});

afterAll(async () => {
  for (const made of machines) made.remove();
  await service.close();
  shelf.remove();
});

const PRESENT = SHELLS.filter((shell) => programPath(shell) !== undefined);
const CALLING = CLIENTS.filter((client) => programPath(client) !== undefined);
const PAIRS = PRESENT.flatMap((shell) => CALLING.map((client) => [shell, client] as const));
const PATIENT = { timeout: 120_000 };

const machines: RunMachine[] = [];

function machine(shell: ShellName, options: Partial<MachineOptions> = {}): RunMachine {
  const made = new RunMachine({ shell, service, ...options });
  machines.push(made);
  return made;
}

describe.concurrent('a program that runs to its end', PATIENT, () => {
  test.each(PRESENT.flatMap((shell) => [0, 7, 143, 255].map((code) => [shell, code] as const)))(
    'in %s reports exit code %d in the log and as a file, and stops its machine',
    async (shell, code) => {
      const inside = machine(shell);
      await inside.script(`echo one\necho two >&2\nexit ${code}\n`);
      expect(await inside.finished()).toEqual({ exitCode: code, log: 'one\ntwo\n', isWhole: true });
      expect(inside.listed).toBe(code);
      inside.kill();
    },
  );

  test.each(PAIRS)('in %s stops its own machine by %s, with its own key', async (shell, client) => {
    const inside = machine(shell, { clients: [client] });
    inside.container.program('say', '#!/bin/sh\nprintf "%s\\n" "$@"\n');
    await inside.start({ type: 'words', words: ['say', "it's $HOME", '', '*'] });
    expect(await inside.finished()).toEqual({ exitCode: 0, log: "it's $HOME\n\n*\n", isWhole: true });
    const { id } = inside.container;
    expect(inside.calls()[0]).toEqual({
      ...{ method: 'PUT', path: `/api/v0/instances/${id}/`, key: `Bearer key-${id}` },
      body: '{"state":"stopped"}',
    });
    inside.kill();
  });
});
