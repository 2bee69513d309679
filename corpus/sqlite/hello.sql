SELECT 'hello world';
