import type { TfaMethod, TfaStatus } from '../../markets/vast/tfa/methods.ts';
import { timeText } from '../../views/amounts.ts';
import type { View } from '../../views/table.ts';

/** Returns a method in its JSON form: times in ISO 8601. */
export function methodRow(method: TfaMethod) {
  return {
    ...method,
    lockedUntil: timeText(method.lockedUntil),
    createdAt: timeText(method.createdAt),
    lastUsedAt: timeText(method.lastUsedAt),
  };
}

export const methodView: View<ReturnType<typeof methodRow>> = {
  kind: 'tfa-method',
  name: ({ id }) => id,
  columns: [
    { header: 'Id', text: ({ id }) => id },
    { header: 'Method', text: ({ method }) => method },
    { header: 'Label', text: ({ label }) => label },
    { header: 'Phone', text: ({ phoneNumber }) => phoneNumber },
    { header: 'Primary', text: ({ isPrimary }) => (isPrimary ? 'yes' : 'no') },
    { header: 'Failed', text: ({ failCount }) => String(failCount) },
    { header: 'Locked until', text: ({ lockedUntil }) => lockedUntil },
    { header: 'Last used', text: ({ lastUsedAt }) => lastUsedAt },
    { header: 'Created', text: ({ createdAt }) => createdAt, wide: true },
  ],
};

/** Returns the status in its JSON form. */
export function statusRow(status: TfaStatus) {
  return { ...status, methods: status.methods.map(methodRow) };
}

/** Returns the status in one line, above the table of methods. */
export function statusLine(status: TfaStatus): string {
  if (!status.enabled) return 'Two-factor authentication is off.';
  const window = status.newMethodAuthorized ? ' A new method may be added now.' : '';
  return `Two-factor authentication is on; ${status.backupCodesRemaining} backup codes remain.${window}`;
}
