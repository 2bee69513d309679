'use strict';

require('node:v8').startupSnapshot.setDeserializeMainFunction(() => {
  console.log('hello world');
});
