import { type ChartValues, group, schemas, value } from './value-tree.ts';

/** Values of access: permissions of the operator and of users, and the rules of admission. */
export const accessValues: ChartValues = {
  serviceAccount: group('Who the operator is.', {
    create: value('', true, schemas.flag),
    name: value("Made from the release's name when empty.", '', schemas.text),
    annotations: value('', {}, schemas.stringMap),
  }),
  rbac: group('Rights.', {
    create: value('', true, schemas.flag),
    aggregate: value(
      "Add our kinds to Kubernetes' own view, edit and admin roles. Cluster-wide only.",
      true,
      schemas.flag,
    ),
    serviceBinding: value(
      'Let service binding controllers read GpuInstances, as provisioned services. Cluster-wide only.',
      true,
      schemas.flag,
    ),
  }),
  admissionPolicies: group('ValidatingAdmissionPolicies; no webhook, so nothing of it can be down.', {
    render: value(
      '`auto`: unless `watchNamespaces` is set, since policies are cluster-wide objects. Then `always` limits them to those namespaces.',
      'auto',
      { type: 'string', enum: ['auto', 'always', 'never'] },
    ),
    breakGlassGroup: value(
      'Members may do what the policies refuse: kubectl --as=NAME --as-group=GROUP.',
      'gpurental.dev:break-glass',
      schemas.userGroup,
    ),
    protectRecords: value(
      'Only the operator changes rental intents, claims and other status, and takes its finalizers away.',
      true,
      schemas.flag,
    ),
    protectAnnotation: value(
      'Refuse to delete an object of the operator with the annotation gpurental.dev/protect.',
      true,
      schemas.flag,
    ),
    limitOperator: value(
      "Let the operator's ServiceAccount write only the Secrets, Services and EndpointSlices that the operator writes, in every namespace, and that of the gateway only wake groups: their tokens are no way to others.",
      true,
      schemas.flag,
    ),
    priceFloor: value(
      'Refuse a maxPricePerHour below what the running machine costs if onPriceAbove: Replace would replace it.',
      true,
      schemas.flag,
    ),
    warnOfReplacement: value(
      'Warn, and refuse nothing, when an edit replaces the machine of a GpuInstance, or workers of an EndpointGroup, whose disks are lost.',
      true,
      schemas.flag,
    ),
    warnWithoutLimits: value(
      'Warn, and refuse nothing, when the `limits` of a MarketplaceAccount bound neither its spending nor its machines.',
      true,
      schemas.flag,
    ),
  }),
  inUseGuard: group(
    'While machines are rented, refuse to delete the CRDs, the identity and what the operator runs on.',
    {
      enabled: value(
        'Rendered together with the CRDs, here or in the chart gpu-rental-operator-crds.',
        true,
        schemas.flag,
      ),
    },
  ),
};
