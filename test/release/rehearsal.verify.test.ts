import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { findPrograms, type Program, type ProgramPaths, program } from '../../scripts/release/programs.ts';
import { makeKeys, rehearsalEnvironment, startRegistry } from '../../scripts/release/rehearsal/setting.ts';
import { openWorkplace, type Workplace } from '../../scripts/release/rehearsal/workplace.ts';
import {
  attestArguments,
  requireSbom,
  signArguments,
  verifyArguments,
  verifySbomArguments,
} from '../../scripts/release/signing.ts';

const REHEARSAL = join(REPOSITORY, 'scripts/release-rehearsal.ts');
const outcome = z.looseObject({ result: z.string(), image: z.string().optional() });
const outcomeOf = (output: string) => outcome.parse(JSON.parse(output.trimEnd().split('\n').at(-1) ?? ''));

let temporary = '';
let paths: ProgramPaths;
beforeAll(async () => {
  temporary = mkdtempSync(join(tmpdir(), 'rehearsal-test-'));
  paths = await findPrograms(process.env);
});
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

const environment = (): NodeJS.ProcessEnv => ({ ...process.env, TMPDIR: temporary });

describe('make release-rehearsal', () => {
  test('releases twice at once, installs what it released and leaves nothing behind', async () => {
    const rehearse = () => promisify(execFile)(process.execPath, [REHEARSAL], { env: environment() });
    const [one, other] = await Promise.all([rehearse(), rehearse()]);
    expect(outcomeOf(one.stdout)).toMatchObject({ result: 'ok', image: expect.stringMatching(/^sha256:/) });
    expect(outcomeOf(other.stdout).image).toBe(outcomeOf(one.stdout).image);
    expect(readdirSync(temporary)).toEqual([]);
  }, 1_800_000);

  test.each(['SIGINT', 'SIGKILL'] as const)(
    'leaves nothing behind after %s',
    async (signal) => {
      const child = spawn(process.execPath, [REHEARSAL], {
        env: environment(),
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const ended = new Promise((resolve) => child.once('exit', resolve));
      for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('keys:')) break;
      child.kill(signal);
      await ended;
      await expect.poll(() => readdirSync(temporary), { timeout: 20_000 }).toEqual([]);
    },
    300_000,
  );
});

describe('a signature', () => {
  const stop = new AbortController();
  let workplace: Workplace;
  let cosign: Program;
  let reference = '';
  const signerIn = (name: string) => ({ type: 'key', folder: join(workplace.folder, name) }) as const;

  beforeAll(async () => {
    workplace = openWorkplace(stop.signal);
    const env = rehearsalEnvironment(process.env, { folder: workplace.folder, repository: REPOSITORY });
    cosign = program('cosign', paths.cosign, env);
    const host = await startRegistry(workplace, paths.crane, env);
    for (const name of ['ours', 'theirs'])
      await makeKeys(workplace, paths.cosign, { folder: join(workplace.folder, name), env });
    const empty = join(workplace.folder, 'empty');
    mkdirSync(empty);
    await promisify(execFile)('tar', ['--create', '--file', 'layer.tar', '--files-from', '/dev/null'], {
      cwd: empty,
    });
    const crane = program('crane', paths.crane, env);
    const image = `${host}/team/image`;
    await crane([
      'append',
      '--oci-empty-base',
      '--new_layer',
      join(empty, 'layer.tar'),
      '--new_tag',
      `${image}:1`,
    ]);
    reference = `${image}@${(await crane(['digest', `${image}:1`])).trim()}`;
    await cosign(signArguments(signerIn('ours'), reference));
  });
  afterAll(() => workplace.close());

  test('of the release is accepted', async () => {
    await cosign(verifyArguments(signerIn('ours'), reference));
  });

  test('by another key is refused', async () => {
    await expect(cosign(verifyArguments(signerIn('theirs'), reference))).rejects.toThrow(
      'cosign verify failed',
    );
  });

  test('of an SBOM that was altered is refused', async () => {
    const sbom = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components: [] };
    const file = join(workplace.folder, 'sbom.json');
    writeFileSync(file, JSON.stringify(sbom));
    await cosign(attestArguments(signerIn('ours'), reference, file));
    const attached = await cosign(verifySbomArguments(signerIn('ours'), reference));
    expect(() => requireSbom(attached, sbom, reference)).not.toThrow();
    expect(() => requireSbom(attached, { ...sbom, version: 2 }, reference)).toThrow('differs');
    await expect(cosign(verifySbomArguments(signerIn('theirs'), reference))).rejects.toThrow(
      'cosign verify-attestation failed',
    );
  });
});
