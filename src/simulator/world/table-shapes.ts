import type * as z from 'zod';
import { endpointGroup, signingKey, worker, workerGroup } from '../scaling/row-shapes.ts';
import { sentCode, tfaAccount } from '../tfa/account-shape.ts';
import * as row from './row-shapes.ts';
import type { RowOf, TableName } from './world.ts';

/** What a row of each table has to look like when it comes from outside. */
export const tableShapes: { readonly [T in TableName]: z.ZodType<RowOf<T>> } = {
  users: row.user,
  apiKeys: row.apiKey,
  machines: row.machine,
  offers: row.offer,
  contracts: row.contract,
  endedContracts: row.endedContract,
  templates: row.template,
  priceIncreases: row.priceIncrease,
  faults: row.fault,
  tfaAccounts: tfaAccount,
  sentCodes: sentCode,
  sshKeys: row.sshKey,
  variables: row.variable,
  volumeListings: row.volumeListing,
  volumes: row.volume,
  endedVolumes: row.endedVolume,
  endpointGroups: endpointGroup,
  workerGroups: workerGroup,
  workers: worker,
  signingKeys: signingKey,
  deployments: row.deployment,
};
