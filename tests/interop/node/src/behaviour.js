'use strict';

// What a test makes this runtime do besides answering; nothing here.
module.exports = {};
