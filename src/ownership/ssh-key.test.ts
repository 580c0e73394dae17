import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { utils } from 'ssh2';
import { expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import { sshKeyOf } from './ssh-key.ts';

const ring = [new Secret('first'), new Secret('second')] as const;

test('derives the same pair from the same key, and another one from another key', () => {
  const again = sshKeyOf([new Secret('first')]);
  expect(again.publicKey).toBe(sshKeyOf(ring).publicKey);
  expect(again.privateKey.reveal()).toBe(sshKeyOf(ring).privateKey.reveal());
  expect(sshKeyOf([new Secret('second')]).publicKey).not.toBe(again.publicKey);
});

test('writes a private key that an SSH library reads, with the public key of the pair', () => {
  const { privateKey, publicKey } = sshKeyOf(ring);
  const read = utils.parseKey(privateKey.reveal());
  if (read instanceof Error) throw read;
  expect(read.type).toBe('ssh-ed25519');
  expect(publicKey).toBe(`ssh-ed25519 ${read.getPublicSSH().toString('base64')} gpu-rental-operator`);
});

test('writes a private key that ssh-keygen reads, where it is installed', ({ skip }) => {
  const folder = mkdtempSync(join(tmpdir(), 'ssh-key-'));
  try {
    const { privateKey, publicKey } = sshKeyOf(ring);
    const file = join(folder, 'key');
    writeFileSync(file, privateKey.reveal(), { mode: 0o600 });
    try {
      execFileSync('ssh-keygen', ['-?'], { stdio: 'ignore' });
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') skip();
    }
    const written = execFileSync('ssh-keygen', ['-y', '-f', file], { encoding: 'utf8' });
    expect(publicKey).toContain(written.trim().split(' ').slice(0, 2).join(' '));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('does not show the private key in text', () => {
  expect(String(sshKeyOf(ring).privateKey)).not.toContain('BEGIN');
});
