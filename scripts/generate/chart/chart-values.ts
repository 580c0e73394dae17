import { accessValues } from './access-values.ts';
import { gatewayValues } from './gateway-values.ts';
import { monitoringValues } from './monitoring-values.ts';
import { networkValues } from './network-values.ts';
import { operatorValues } from './operator-values.ts';
import { podValues } from './pod-values.ts';
import { simulatorValues } from './simulator-values.ts';
import { type ChartValues, group, listOrMap, schemas, value } from './value-tree.ts';

/** Every value of the chart gpu-rental-operator, in the order in which a person reads them. */
export const chartValues: ChartValues = {
  ...operatorValues,
  ...simulatorValues,
  ...accessValues,
  ...monitoringValues,
  ...gatewayValues,
  ...networkValues,
  ...podValues,
  extraObjects: value(
    'More objects, a list or a map of them, as YAML or as text; both go through `tpl`.',
    [],
    listOrMap,
  ),
};

/** Every value of the chart gpu-rental-operator-crds. */
export const crdChartValues: ChartValues = {
  global: value('Values of a parent chart.', {}, { type: 'object' }),
  crds: group('Custom resource definitions.', {
    enabled: value('', true, schemas.flag),
    keep: value('Leave them in the cluster when the chart is uninstalled.', true, schemas.flag),
  }),
  inUseGuard: group(
    'While machines are rented, refuse to delete the CRDs, the identity and what the operator runs on.',
    {
      enabled: value('', true, schemas.flag),
      operatorNamespaces: value('Where operators run; one binding for each.', ['gpu-rental-system'], {
        type: 'array',
        minItems: 1,
        uniqueItems: true,
        items: { type: 'string', minLength: 1 },
      }),
      breakGlassGroup: value(
        'Members may delete anyway: kubectl --as=NAME --as-group=GROUP.',
        'gpurental.dev:break-glass',
        schemas.userGroup,
      ),
    },
  ),
  commonLabels: value('On every object of the chart.', {}, schemas.stringMap),
};
