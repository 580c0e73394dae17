import { FollowedObjects } from '../../src/accounts/account-objects.ts';
import type { InstanceSummary } from '../../src/instance/summary.ts';

/** Objects that name an account, and that do not change. */
export function followedObjects(objects: readonly InstanceSummary[]): FollowedObjects {
  const followed = new FollowedObjects({ update: () => {}, close: () => {} });
  for (const object of objects) followed.changed(object);
  return followed;
}
