import type { ApiKey } from '../../marketplace/api-keys.ts';
import type { SshKey } from '../../marketplace/ssh-keys.ts';
import type { User } from '../../marketplace/users.ts';
import { dollarText, inDollars, timeText } from '../output/amounts.ts';
import type { View } from '../output/output.ts';

/** The user as JSON shows it. */
export function userRow(user: User) {
  return { ...user, credit: inDollars(user.credit) };
}

export const userView: View<ReturnType<typeof userRow>> = {
  kind: 'user',
  name: ({ id }) => String(id),
  columns: [
    { header: 'Id', text: ({ id }) => String(id) },
    { header: 'Name', text: ({ fullName, username }) => fullName ?? username },
    { header: 'Email', text: ({ email }) => email },
    { header: 'Credit', text: ({ credit }) => dollarText(credit) },
    { header: '2FA', text: ({ twoFactor }) => twoFactor },
    { header: 'SSH key', text: ({ sshKey }) => (sshKey ? shortKey(sshKey) : 'none') },
  ],
};

export const apiKeyView: View<ApiKey> = {
  kind: 'api-key',
  name: ({ id }) => String(id),
  columns: [
    { header: 'Id', text: ({ id }) => String(id) },
    { header: 'Name', text: ({ name }) => name },
    { header: 'Access', text: ({ permissions }) => access(permissions) },
    { header: 'Team', text: ({ teamName }) => teamName },
    { header: 'User', text: ({ userId }) => (userId === undefined ? undefined : String(userId)), wide: true },
  ],
};

/** An SSH key as JSON shows it. */
export function sshKeyRow(key: SshKey) {
  return { ...key, createdAt: timeText(key.createdAt) };
}

export const sshKeyView: View<ReturnType<typeof sshKeyRow>> = {
  kind: 'ssh-key',
  name: ({ id }) => String(id),
  columns: [
    { header: 'Id', text: ({ id }) => String(id) },
    { header: 'Key', text: ({ publicKey }) => shortKey(publicKey) },
    { header: 'Created', text: ({ createdAt }) => createdAt },
  ],
};

function access(permissions: ApiKey['permissions']): string {
  return permissions === undefined ? 'full' : Object.keys(permissions.api).sort().join(',');
}

/** Type, the last characters and the comment of a public key: enough to tell keys apart. */
function shortKey(key: string): string {
  const [type = '', body = '', ...comment] = key.trim().split(/\s+/);
  return [type, `…${body.slice(-12)}`, ...comment].join(' ');
}
