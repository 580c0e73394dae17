/*
 * To add an endpoint: write `src/simulator/routes/<resource>.ts` that exports a list of `Route`s (see
 * ../calls/route.ts), then import that list here and add it to `routes`. Order does not matter; two routes with
 * equal method and path are refused at start. New tables: ../tables and ../world/world.ts. Things that happen by
 * themselves as time passes: an `AdvanceStep` in ../steps, added to `advanceSteps` in ../catch-up.ts.
 * Rights of keys: ../calls/authenticate.ts. Open limits: a group in ../settings.ts.
 */
import type { Route } from '../calls/route.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { autoscalerRoutes, workerReportRoutes } from './autoscaler.ts';
import { billingRoutes } from './billing.ts';
import { rootCertificateRoutes } from './control.ts';
import { deploymentRoutes } from './deployments.ts';
import { endpointGroupRoutes } from './endpoint-groups.ts';
import { instanceMoreRoutes, instanceSshRoutes } from './instance-operations.ts';
import { instanceChangeRoutes, instanceReadRoutes } from './instances.ts';
import { marketRoutes, offerRoutes } from './offers.ts';
import { secretRoutes } from './secrets.ts';
import { sshKeyRoutes } from './ssh-keys.ts';
import { templateRoutes } from './templates.ts';
import { tfaCodeRoutes, tfaLoginRoutes, tfaMethodRoutes } from './tfa.ts';
import { userRoutes } from './users.ts';
import { volumeRoutes } from './volumes.ts';
import { workerGroupRoutes } from './worker-groups.ts';

/** Every endpoint of the marketplace, in both profiles. */
export const routes: readonly Route[] = [
  ...userRoutes,
  ...offerRoutes,
  ...instanceReadRoutes,
  ...instanceChangeRoutes,
  ...templateRoutes,
  ...marketRoutes,
  ...instanceMoreRoutes,
  ...billingRoutes,
  ...tfaLoginRoutes,
  ...tfaCodeRoutes,
  ...tfaMethodRoutes,
  ...apiKeyRoutes,
  ...sshKeyRoutes,
  ...instanceSshRoutes,
  ...secretRoutes,
  ...volumeRoutes,
  ...endpointGroupRoutes,
  ...workerGroupRoutes,
  ...autoscalerRoutes,
  ...workerReportRoutes,
  ...rootCertificateRoutes,
  ...deploymentRoutes,
];
