import { describe, expect, test } from 'vitest';
import { catalog } from '../../src/cli/catalog.ts';
import type { Command } from '../../src/cli/command.ts';
import { spellings } from '../../src/cli/locate.ts';
import { optionsOf } from '../../src/cli/options/option-sets.ts';
import { commandLine } from './command-line.ts';

/* Words that can mean nothing are refused before anything is read or asked, and each of them is named. */

const entries = await Promise.all(
  catalog
    .flatMap(({ entries: all }) => all)
    .map(async (entry) => ({ name: entry.name, command: await entry.load() })),
);

async function gpuRent(...args: readonly string[]) {
  const cli = commandLine();
  const ran = await cli.run(args, { env: { KUBECONFIG: '/nonexistent' } });
  cli.leave();
  return ran;
}

/** Returns words for the required arguments of a command. */
const needed = ({ args = [] }: Command): readonly string[] =>
  args.flatMap(({ name, behindDashes }) => {
    if (!name.startsWith('<')) return [];
    return behindDashes ? ['--', 'x'] : ['x'];
  });

const options = entries.flatMap(({ name, command }) =>
  optionsOf(command).map((option) => ({
    ...{ name, command, option },
    flag: spellings(option).at(-1) ?? '',
    placeholder: /[<[].*$/.exec(option.flags)?.[0] ?? '',
  })),
);
const valued = options.filter(({ placeholder, option }) => placeholder !== '' && !option.takesRest);
const refusing = valued.filter(({ option }) => !option.mayBeEmpty);
const byFlag = <T extends { readonly flag: string; readonly placeholder: string }>(all: readonly T[]) =>
  [...Map.groupBy(all, ({ flag, placeholder }) => `${flag} ${placeholder}`)].map(([form, uses]) => ({
    form,
    uses,
  }));

describe('an option with an empty value', () => {
  test.each(byFlag(refusing))('$form is refused by each command that has it', async ({ form, uses }) => {
    for (const { name, command, flag } of uses)
      for (const words of [[flag, ''], [`${flag}=`], [flag, ' ']]) {
        const [first, ...rest] = [words, needed(command)];
        const { exitCode, stdout, stderr } = await gpuRent(...name.split(' '), ...first, ...rest.flat());
        expect({ name, exitCode, stdout, stderr }).toEqual({
          ...{ name, exitCode: 2, stdout: '' },
          stderr: `Error: ${flag}: the value is empty.\nWhat to do: Give ${form}, or leave it out.\n`,
        });
      }
  });

  test('is allowed where it means something, and by programs that read the environment as well', () => {
    const allowed = valued.filter(
      ({ option, name }) => option.mayBeEmpty && !/^(operator|endpoint-picker)$/.test(name),
    );
    expect(allowed.map(({ name, flag }) => `${name} ${flag}`)).toEqual([
      'create instance --label',
      'list instances --label',
      ...['create', 'update'].flatMap((verb) =>
        ['endpoint_name', 'template_hash', 'search_params', 'launch_args', 'autoscaler_instance'].map(
          (flag) => `${verb} workergroup --${flag}`,
        ),
      ),
      'tfa update --label',
    ]);
  });
});

const timed = refusing.filter(({ placeholder }) => /^<(time|duration)>$/.test(placeholder));

describe('a time without a unit', () => {
  test.each(byFlag(timed))('$form is refused by each command that has it', async ({ uses }) => {
    for (const { name, command, flag } of uses) {
      const { exitCode, stderr } = await gpuRent(...name.split(' '), flag, '48', ...needed(command));
      expect({ name, exitCode, stderr }).toEqual({
        ...{ name, exitCode: 2 },
        stderr: `Error: ${flag}: "48" has no unit.\nWhat to do: Write 48s, 48m or 48h.\n`,
      });
    }
  });

  test('is asked of every command with a time', () => {
    expect(
      byFlag(timed)
        .map(({ form }) => form)
        .toSorted(),
    ).toEqual([
      '--for <time>',
      '--interval <time>',
      '--late-call <duration>',
      '--list-lag <duration>',
      '--max-lifetime <time>',
      '--request-timeout <time>',
      '--timeout <time>',
    ]);
  });

  test.each(['operator', 'endpoint-picker'])('%s refuses it by the name of its setting', async (name) => {
    const { exitCode, stderr } = await gpuRent(name, '--shutdown-grace', '48');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/--shutdown-grace .*"48" is not valid: write a duration .*, such as 30s or 1m30s/);
  });
});

describe('an amount that is not positive', () => {
  // The operator reads its options with the environment: its limit of 0 rents nothing.
  const amounts = valued.filter(
    ({ placeholder, name }) => placeholder === '<dollars>' && name !== 'operator',
  );
  test.each(byFlag(amounts))('is refused for $form by each command that has it', async ({ uses }) => {
    for (const { name, command, flag } of uses)
      for (const [text, fault] of [
        ['0', 'is zero'],
        ['$0.00', 'is zero'],
        ['-0.10', 'is below zero'],
      ]) {
        const [first, ...rest] = [[flag, `${text}`], needed(command)];
        const { exitCode, stdout, stderr } = await gpuRent(...name.split(' '), ...first, ...rest.flat());
        expect({ name, exitCode, stdout, stderr }).toEqual({
          ...{ name, exitCode: 2, stdout: '' },
          stderr: `Error: ${flag}: "${text}" ${fault}.\nWhat to do: Write a positive amount of dollars such as 0.45.\n`,
        });
      }
  });

  test('is refused as the new price of a bid', async () => {
    const { exitCode, stderr } = await gpuRent('change', 'bid', '4711', '0');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: 'Error: price: "0" is zero.\nWhat to do: Write a positive amount of dollars such as 0.45.\n',
    });
  });
});

describe('an argument that is empty', () => {
  const arguing = entries.flatMap(({ name, command }) => {
    const [first] = command.args ?? [];
    return first && !first.behindDashes ? [{ name, argument: first.name }] : [];
  });
  test.each(arguing)('is refused by $name', async ({ name, argument }) => {
    const { exitCode, stderr } = await gpuRent(...name.split(' '), '');
    expect({ exitCode, stderr: stderr.split('\n')[0] }).toEqual({
      exitCode: 2,
      stderr: `Error: ${argument}: the argument is empty.`,
    });
  });
});

test('all faults of a line are named at once', async () => {
  const { exitCode, stderr } = await gpuRent(
    ...[
      'run',
      '--gpu',
      '',
      '--image',
      '--name=',
      '--max-price',
      '-1',
      '--timeout',
      '5',
      '--max-cost',
      'much',
    ],
  );
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: [
      'Error: --gpu: the value is empty.',
      '--image: the value is missing; --name= is an option of its own.',
      '--name: the value is empty.',
      '--max-price: "-1" is below zero.',
      '--timeout: "5" has no unit.',
      '--max-cost: "much" is not an amount of dollars such as 0.45.',
      'What to do: Give --gpu <name>, or leave it out. Give --image <image>, or leave it out. Give --name <name>, or leave it out. Write a positive amount of dollars such as 0.45. Write 5s, 5m or 5h.',
      '',
    ].join('\n'),
  });
});

test.each([
  ['run', '--image', 'u', '--gpu', 'x', '--dry-run', '--', 'u', ''],
  ['run', '--image', 'u', '--gpu', 'x', '--dry-run', '--env', 'A='],
  ['run', '--image', 'u', '--gpu', 'x', '--dry-run', '--args', '--model', ''],
])('words of a program and empty variables are left alone: %s %s %s %s %s %s %s %s', async (...args) => {
  expect((await gpuRent(...args)).exitCode).toBe(0);
});
