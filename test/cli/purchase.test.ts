import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ledger } from '../../src/simulator/world/ledger.ts';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* A purchase is sent once, whatever becomes of its reply and whatever --retry says. */

let bench: MarketplaceBench;
beforeAll(async () => {
  bench = await marketplaceBench();
});
afterAll(() => bench.close());
afterEach(() => bench.clearFaults());

const contracts = () => ledger(bench.service.simulator.world()).contracts;

async function rent(...more: readonly string[]) {
  const before = contracts().length;
  const [offer] = await bench.offers();
  const args = ['create', 'instance', String(offer), '--image', 'ubuntu:24.04', '--retry', '5', ...more];
  const ran = await bench.cli.run(args);
  return { ...ran, rented: contracts().slice(before) };
}

describe('create instance --retry 5', () => {
  test('rents one machine where all goes well, and says which', async () => {
    const { exitCode, stdout, stderr, rented } = await rent('--label', 'mine');
    expect(rented).toMatchObject([{ label: 'mine' }]);
    expect(exitCode).toBe(0);
    const [{ id } = { id: 0 }] = rented;
    expect(stdout).toBe(`instance/${id} created\n`);
    expect(stderr, 'F10: the price, and the ways in and out').toMatch(
      new RegExp(
        `^It bills \\$0\\.\\d{2,6}/h from now on\\.\\nShell, .*: gpu-rent ssh ${id}\\nEnd it: gpu-rent destroy instance ${id}\\n$`,
      ),
    );
  });

  test.each([
    'reset-after',
    '5xx-with-effect',
    'rubbish-reply',
    'success-false-with-effect',
    'error-with-effect',
  ])('rents one machine where %s takes the reply away, and finds it', async (fault) => {
    await bench.fault(fault, 'PUT /api/v0/asks/{id}');
    const { exitCode, stdout, stderr, rented } = await rent();
    expect(rented).toHaveLength(1);
    expect(exitCode).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain(`The machine was created all the same: instance ${rented[0]?.id}. It bills.`);
    expect(stderr).toContain(`gpu-rent destroy instance ${rented[0]?.id}`);
  });

  test.each(['reset-before', '5xx', '429-text', 'refused'])(
    'rents nothing where %s strikes first, and is not sent again',
    async (fault) => {
      await bench.fault(fault, 'PUT /api/v0/asks/{id}');
      const { exitCode, rented } = await rent();
      expect(rented).toEqual([]);
      expect(exitCode).toBe(1);
    },
  );

  test('says what to look for where the machine is not listed yet', async () => {
    await bench.fault('reset-before', 'PUT /api/v0/asks/{id}');
    const { stderr } = await rent('--label', 'sought');
    expect(stderr).toContain('The rent was sent once');
    expect(stderr).toContain("gpu-rent list instances --label 'sought'");
  });

  test('does not say that there is no machine where the list cannot be read', async () => {
    await bench.fault('reset-after', 'PUT /api/v0/asks/{id}');
    await bench.fault('5xx', 'GET /api/v0/instances/', { count: 100 });
    const { stderr, rented } = await rent('--retry', '0');
    expect(rented).toHaveLength(1);
    expect(stderr).toContain('The rent was sent once, and the list cannot be read.');
    expect(stderr).toContain('Check before you rent another: gpu-rent list instances');
  });

  test('takes no machine of a label for its own where it could not see which there were before', async () => {
    const { rented: older } = await rent('--label', 'unseen');
    await bench.fault('5xx', 'GET /api/v0/instances/', { count: 1 });
    await bench.fault('reset-before', 'PUT /api/v0/asks/{id}');
    const { stderr, rented } = await rent('--label', 'unseen', '--retry', '0');
    expect([older.length, rented.length]).toEqual([1, 0]);
    expect(stderr).not.toContain('The machine exists all the same');
    expect(stderr).toContain("gpu-rent list instances --label 'unseen'");
  });

  test('says what the service does not take, in its words and ours, also where it looks for a machine', async () => {
    const { exitCode, stderr, rented } = await rent('--disk', '5', '--label', 'small');
    expect(rented).toEqual([]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^The service says: .*disk.*8/m);
    expect(stderr).toContain(
      'What to do: Correct the image, disk, env or other fields of the request. Check',
    );
  });

  test('says what the service said of a machine that exists all the same, and not to correct the request', async () => {
    await bench.fault('error-with-effect', 'PUT /api/v0/asks/{id}');
    const { stderr, rented } = await rent();
    expect(stderr).toContain('The service says: ');
    expect(stderr).toContain(`What to do: Use it, or end it: gpu-rent destroy instance ${rented[0]?.id}.`);
  });

  test('finds the machine that the failure itself names, also where its label was lost', async () => {
    await bench.fault('label-dropped', 'PUT /api/v0/asks/{id}', { count: 1 });
    await bench.fault('error-with-effect', 'PUT /api/v0/asks/{id}');
    const { stderr, rented } = await rent();
    expect(rented).toMatchObject([{ label: null }]);
    expect(stderr).toContain(`The machine was created all the same: instance ${rented[0]?.id}. It bills.`);
  });

  test('does not take an older machine of the same label for the one whose reply was lost', async () => {
    const { rented: older } = await rent('--label', 'pair');
    await bench.fault('reset-before', 'PUT /api/v0/asks/{id}');
    const { stderr, rented } = await rent('--label', 'pair');
    expect(rented).toEqual([]);
    expect(stderr).toContain('no new machine with its label is listed yet');
    expect(stderr).not.toContain(`instance ${older[0]?.id}`);
  });

  test.each(['twins', ''])('finds the new one of two machines with the same label %j', async (label) => {
    await rent('--label', label);
    await bench.fault('reset-after', 'PUT /api/v0/asks/{id}');
    const { stderr, rented } = await rent('--label', label);
    expect(stderr).toContain(`The machine was created all the same: instance ${rented[0]?.id}. It bills.`);
    const listed = await bench.cli.run(['list', 'instances', '--label', label, '-o', 'name']);
    expect(listed.stdout).toContain(`instance/${rented[0]?.id}\n`);
  });

  test('a wrong option is refused before anything is rented', async () => {
    const { exitCode, stderr, rented } = await rent('--port', '99999');
    expect(rented).toEqual([]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--port: "99999" is not a whole number from 1 to 79999.');
  });

  test('puts the key of its machine into the file that is named, and nowhere else', async () => {
    const file = join(bench.cli.home, 'machine.key');
    const { exitCode, stdout, stderr } = await rent('--save-key', file);
    expect(exitCode).toBe(0);
    const key = (await readFile(file, 'utf8')).trim();
    expect(key).not.toBe('');
    expect(`${stdout}${stderr}`).not.toContain(key);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('a file for the key that cannot be written is refused before anything is rented', async () => {
    const { exitCode, stderr, rented } = await rent('--save-key', '/no/such/folder/key');
    expect(rented).toEqual([]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--save-key: cannot write /no/such/folder/key (ENOENT).');
  });

  test('an offer that is gone ends with 3', async () => {
    const { exitCode } = await bench.cli.run(['create', 'instance', '1', '--image', 'ubuntu:24.04']);
    expect(exitCode).toBe(3);
  });
});

describe('rent volume', () => {
  const listing = async () => {
    const { body } = await bench.service.call('POST /api/v0/volumes/search/', { limit: 1 });
    return String((body.offers as readonly { readonly id: number }[])[0]?.id);
  };
  const rentVolume = async (...more: readonly string[]) =>
    bench.cli.run(['rent', 'volume', await listing(), '--size', '20', ...more]);

  test('answers the id that the other commands take', async () => {
    const { stdout } = await rentVolume('-o', 'json');
    const { id } = JSON.parse(stdout) as { id: number };
    expect(await bench.cli.run(['delete', 'volume', String(id), '--yes'])).toMatchObject({ exitCode: 0 });
  });

  test.each([
    ['reset-after', 1, []],
    ['5xx', 1, []],
    ['delayed-reply', 4, ['--request-timeout', '500ms']],
  ] as const)('after %s does not advise to rent it again, and ends with %i', async (fault, code, more) => {
    await bench.fault(fault, 'PUT /api/v0/volumes/', { count: 1, seconds: 1 });
    const { exitCode, stderr } = await rentVolume(...more);
    expect(exitCode).toBe(code);
    expect(stderr).toContain('The rent was sent once; a volume may exist and bill.');
    expect(stderr).toContain('What to do: Check before you rent another: gpu-rent list volumes\n');
    expect(stderr).not.toContain('try again');
  });
});

describe('what changes is sent once, too', () => {
  test.each([
    [['create', 'endpoint', '--endpoint_name', 'once'], 'POST /api/v0/endptjobs', 'endpointGroups'],
    [['create', 'api-key', '--name', 'once'], 'POST /api/v0/auth/apikeys', 'apiKeys'],
  ] as const)('%j leaves one row', async (args, endpoint, table) => {
    const count = () => Object.keys(bench.service.simulator.world().tables[table]).length;
    const before = count();
    await bench.fault('reset-after', endpoint);
    const { exitCode, stderr } = await bench.cli.run([...args, '--retry', '5']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('It is unknown whether it took effect.');
    expect(stderr).toContain('What to do: Check whether it took effect before you repeat it.');
    expect(count() - before).toBe(1);
  });

  test('a read is tried as often as --retry says', async () => {
    await bench.fault('5xx', 'GET /api/v0/users/current', { count: 2 });
    expect(await bench.cli.run(['show', 'user', '--retry', '3'])).toMatchObject({ exitCode: 0 });
  });
});
