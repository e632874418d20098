import { composed } from '@polyhead/core';
import { describeChecks } from './check';
import { spoiledRowChecks } from './kernel-checks/spoiled-rows';

describeChecks('composed', spoiledRowChecks({ create: composed }));
