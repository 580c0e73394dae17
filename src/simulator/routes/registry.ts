/*
 * To add an endpoint: write `src/simulator/routes/<resource>.ts` that exports a list of `Route`s (see
 * ../route.ts), then import that list here and add it to `routes`. Order does not matter; two routes with
 * equal method and path are refused at start. New tables: ../world.ts. Things that happen by themselves
 * as time passes: an `AdvanceStep` in a file of its own, added to `advanceSteps` in ../advance-steps.ts.
 * Rights of keys: ../permissions.ts. Open limits: a group in ../settings.ts.
 */
import type { Route } from '../calls/route.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { autoscalerRoutes } from './autoscaler.ts';
import { billingRoutes } from './billing.ts';
import { deploymentRoutes } from './deployments.ts';
import { endpointGroupRoutes } from './endpoint-groups.ts';
import { instanceSshRoutes } from './instance-ssh.ts';
import { instanceChangeRoutes } from './instances-change.ts';
import { instanceMoreRoutes } from './instances-more.ts';
import { instanceReadRoutes } from './instances-read.ts';
import { marketRoutes } from './market.ts';
import { offerRoutes } from './offers.ts';
import { rootCertificateRoutes } from './root-certificate.ts';
import { secretRoutes } from './secrets.ts';
import { sshKeyRoutes } from './ssh-keys.ts';
import { templateRoutes } from './templates.ts';
import { tfaCodeRoutes } from './tfa-codes.ts';
import { tfaLoginRoutes } from './tfa-login.ts';
import { tfaMethodRoutes } from './tfa-methods.ts';
import { userRoutes } from './users.ts';
import { volumeRoutes } from './volumes.ts';
import { workerGroupRoutes } from './worker-groups.ts';
import { workerReportRoutes } from './worker-reports.ts';

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
