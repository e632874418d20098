import { composed } from '@polyhead/core';
import { describeKernel } from './describe-kernel';

describeKernel('composed', { create: composed });
